# SPDX-License-Identifier: Apache-2.0 OR MIT
# Saturated stations on one 10 Mb/s Mac/802_3 LAN of ns-2, each sending to the next.
#
# usage: ns segment.tcl STATIONS FRAME_OCTETS SECONDS DELAY_S SEED shipped|lean
#
# "shipped" leaves ns-2 as it comes. "lean" gives it every advantage we know of: packets carry only the headers that are used, all receivers
# share one copy of a packet (Channel/NoDup), and events are kept in a splay tree.
# Prints "version V" and "frames N", the packets that reached the agents they were sent to.

if {[llength $argv] != 6} {
    puts stderr "usage: ns segment.tcl STATIONS FRAME_OCTETS SECONDS DELAY_S SEED shipped|lean"
    exit 2
}
foreach {stations frame_octets seconds delay_s seed manner} $argv break
if {$stations < 2} {
    # What a station sends to itself never reaches the medium.
    puts stderr "STATIONS must be at least 2, got $stations"
    exit 2
}

set header_octets 14
set line_bps 10e6
# A station of two can hold the medium for thousands of short frames in a row; of many, for fewer.
set ahead [expr {12000 / $stations}]

if {$manner == "lean"} {
    remove-all-packet-headers
    # The sink reads the RTP header to count, the queue the flags.
    add-packet-header IP LL Mac RTP Flags
}
ns-random $seed
set ns [new Simulator -multicast off]
set channel Channel
if {$manner == "lean"} {
    $ns use-scheduler Splay
    set channel Channel/NoDup
}

# The delay given to newLan is that of the link layer, not of the medium.
Channel set delay_ $delay_s
LL set delay_ 0
LL set mindelay_ 0
Mac set delay_ 0
LanRouter set debug_ 0

for {set i 0} {$i < $stations} {incr i} {
    lappend nodes [$ns node]
}
$ns newLan $nodes [expr {int($line_bps)}] 0 -llType LL -ifqType Queue/DropTail -ifqLen [expr {2 * $ahead}] \
    -macType Mac/802_3 -chanType $channel

# A frame of ns-2 has a header and no FCS: what it sends is as long as ours if the FCS counts as payload.
set payload_octets [expr {$frame_octets - $header_octets}]
# The queues are filled at the start and topped up by a tenth more than the line carries, so that no station ever runs dry
# and few packets are made only to be dropped.
set period_s [expr {$stations * ($frame_octets * 8 + 96) / $line_bps / 1.1}]
for {set i 0} {$i < $stations} {incr i} {
    set agent [new Agent/UDP]
    $agent set packetSize_ $frame_octets
    set sink [new Agent/LossMonitor]
    $ns attach-agent [lindex $nodes $i] $agent
    $ns attach-agent [lindex $nodes [expr {($i + 1) % $stations}]] $sink
    $ns connect $agent $sink
    set source [new Application/Traffic/CBR]
    $source set packetSize_ $payload_octets
    $source set interval_ $period_s
    $source attach-agent $agent
    $ns at [expr {$i * 1e-6}] "$source start"
    lappend agents $agent
    lappend sinks $sink
}

proc fill {} {
    global agents payload_octets ahead
    foreach agent $agents {
        for {set k 0} {$k < $ahead} {incr k} {
            $agent send $payload_octets
        }
    }
}

proc finish {} {
    global sinks
    set frames 0
    foreach sink $sinks {
        incr frames [$sink set npkts_]
    }
    puts "version [ns-version]"
    puts "frames $frames"
    exit 0
}

$ns at 0 fill
$ns at $seconds finish
$ns run
