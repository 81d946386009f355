// SPDX-License-Identifier: Apache-2.0 OR MIT
// Saturated hosts on the ports of one learning bridge of ns-3, 1 Gb/s, each sending to the next.
//
// usage: switch HOSTS FRAME_OCTETS MICROSECONDS MANNER
//
// MANNER is "shipped", a CSMA channel for each cable as CsmaHelper makes it, on which only one end sends at a time; or "duplex", two channels
// for each cable, one for each direction: a device sends on the channel it was attached to last, and hears all that it is attached to.
//
// Packets go straight from a callback into the network device: no sockets, no IP, no traffic control, so that what is measured is the switch
// and its links and nothing else. Prints "frames N", the packets received by the hosts they were addressed to; "sent N", the packets that
// hosts have sent, whole; "dropped N", packets that found a queue full or were given up.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <ns3/bridge-module.h>
#include <ns3/core-module.h>
#include <ns3/csma-module.h>
#include <ns3/network-module.h>

using namespace ns3;

namespace
{

constexpr uint32_t HEADER_AND_FCS = 18;
constexpr uint16_t EXPERIMENTAL_ETHERTYPE = 0x88B5;
// The gap of 12 octets and the preamble of 8, which ns-3 does not send: between the end of a frame and the begin of the next one, at 1 Gb/s.
constexpr int BETWEEN_FRAMES_NS = 160;

uint64_t received = 0;
uint64_t sent = 0;
uint64_t dropped = 0;

bool
Count(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    ++received;
    return true;
}

void
CountDropped(Ptr<const Packet>)
{
    ++dropped;
}

/// A host that hands its device the next packet as soon as one has been sent or given up.
struct Host
{
    Ptr<CsmaNetDevice> device;
    Address destination;
    uint32_t payload;

    void Offer()
    {
        device->Send(Create<Packet>(payload), destination, EXPERIMENTAL_ETHERTYPE);
    }

    void OfferAfter(Ptr<const Packet>)
    {
        ++sent;
        Offer();
    }

    void OfferAfterDrop(Ptr<const Packet>)
    {
        Offer();
    }

};

Ptr<CsmaNetDevice>
MakeDevice(Ptr<Node> node, uint32_t octets)
{
    auto device = CreateObject<CsmaNetDevice>();
    device->SetAddress(Mac48Address::Allocate());
    device->SetQueue(CreateObjectWithAttributes<DropTailQueue<Packet>>("MaxSize", StringValue("1000p")));
    device->SetMtu(octets);
    // A slot of 4096 bits, as at 1 Gb/s, exponential up to 2^10 of them. The device counts every look at a busy channel as an attempt, so it may
    // look as often as it likes. In duplex nobody ever meets a busy channel.
    device->SetBackoffParams(NanoSeconds(4096), 1, 1024, 10, 1000000);
    device->TraceConnectWithoutContext("MacTxDrop", MakeCallback(&CountDropped));
    device->TraceConnectWithoutContext("PhyTxDrop", MakeCallback(&CountDropped));
    node->AddDevice(device);
    return device;
}

Ptr<CsmaChannel>
MakeChannel(int delay_ns)
{
    auto channel = CreateObject<CsmaChannel>();
    channel->SetAttribute("DataRate", StringValue("1Gbps"));
    channel->SetAttribute("Delay", TimeValue(NanoSeconds(delay_ns)));
    return channel;
}

} // namespace

int
main(int argc, char** argv)
{
    const std::string manner = argc == 5 ? argv[4] : "";
    if (manner != "shipped" && manner != "duplex")
    {
        std::cerr << "usage: switch HOSTS FRAME_OCTETS MICROSECONDS shipped|duplex\n";
        return 2;
    }
    const auto count = static_cast<uint32_t>(std::atoi(argv[1]));
    if (count < 2)
    {
        std::cerr << "HOSTS must be at least 2, got " << count << "\n";
        return 2;
    }
    const auto octets = static_cast<uint32_t>(std::atoi(argv[2]));
    ObjectFactory scheduler;
    scheduler.SetTypeId("ns3::PriorityQueueScheduler"); // of those that ns-3 has, the fastest here
    Simulator::SetScheduler(scheduler);

    NodeContainer nodes;
    nodes.Create(count);
    auto middle = CreateObject<Node>();
    auto bridge = CreateObject<BridgeNetDevice>();
    middle->AddDevice(bridge);

    std::vector<Host> hosts(count);
    for (uint32_t i = 0; i < count; ++i)
    {
        auto device = MakeDevice(nodes.Get(i), octets);
        auto port = MakeDevice(middle, octets);
        // A channel is busy until all have heard the last bit: no longer than until the next frame may begin, or its sender would back off.
        auto up = MakeChannel(100 + static_cast<int>(i));
        auto down = manner == "duplex" ? MakeChannel(100 + static_cast<int>(i)) : up;
        if (manner == "duplex")
        {
            device->Attach(down);
            port->Attach(up);
        }
        device->Attach(up);
        port->Attach(down);
        for (const auto& end : {device, port})
        {
            end->SetInterframeGap(NanoSeconds(BETWEEN_FRAMES_NS)); // Attach has set it to 12 octets
        }
        bridge->AddBridgePort(port);
        hosts[i].device = device;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        Host& host = hosts[i];
        host.destination = hosts[(i + 1) % count].device->GetAddress();
        host.payload = octets - HEADER_AND_FCS;
        host.device->SetReceiveCallback(MakeCallback(&Count));
        host.device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Host::OfferAfter, &host));
        host.device->TraceConnectWithoutContext("PhyTxDrop", MakeCallback(&Host::OfferAfterDrop, &host));
        for (int ahead = 0; ahead < 2; ++ahead)
        {
            Simulator::Schedule(NanoSeconds(0), &Host::Offer, &host);
        }
    }
    Simulator::Stop(MicroSeconds(std::atoll(argv[3])));
    Simulator::Run();
    Simulator::Destroy();
    std::cout << "frames " << received << "\nsent " << sent << "\ndropped " << dropped << std::endl;
    return 0;
}
