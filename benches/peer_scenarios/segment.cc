// SPDX-License-Identifier: Apache-2.0 OR MIT
// Saturated stations on one CSMA channel of ns-3, each sending to the next.
//
// usage: segment STATIONS FRAME_OCTETS SECONDS DELAY_NS SEED
//
// Packets go straight from a callback into the network device: no sockets, no IP, no traffic control, so that what is measured is the
// medium access and nothing else. Prints "frames N", the packets received by the stations they were addressed to.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <ns3/core-module.h>
#include <ns3/csma-module.h>
#include <ns3/network-module.h>

using namespace ns3;

namespace
{

constexpr uint32_t HEADER_AND_FCS = 18;
constexpr uint16_t EXPERIMENTAL_ETHERTYPE = 0x88B5;

uint64_t received = 0;

bool
Count(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    ++received;
    return true;
}

/// A station that hands its device the next packet as soon as one has been sent or given up.
struct Station
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
        Offer();
    }
};

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 6)
    {
        std::cerr << "usage: segment STATIONS FRAME_OCTETS SECONDS DELAY_NS SEED\n";
        return 2;
    }
    const auto count = static_cast<uint32_t>(std::atoi(argv[1]));
    if (count < 2)
    {
        // What a station sends to itself never reaches the medium.
        std::cerr << "STATIONS must be at least 2, got " << count << "\n";
        return 2;
    }
    const auto octets = static_cast<uint32_t>(std::atoi(argv[2]));
    RngSeedManager::SetSeed(static_cast<uint32_t>(std::atoi(argv[5])));

    NodeContainer nodes;
    nodes.Create(count);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", StringValue("10Mbps"));
    csma.SetChannelAttribute("Delay", TimeValue(NanoSeconds(std::atoi(argv[4]))));
    csma.DisableFlowControl();
    const NetDeviceContainer devices = csma.Install(nodes);

    std::vector<Station> stations(count);
    for (uint32_t i = 0; i < count; ++i)
    {
        Station& station = stations[i];
        station.device = DynamicCast<CsmaNetDevice>(devices.Get(i));
        station.destination = devices.Get((i + 1) % count)->GetAddress();
        station.payload = octets - HEADER_AND_FCS;
        station.device->SetMtu(octets);
        station.device->SetInterframeGap(NanoSeconds(9600));
        // Slots of 51.2 us, exponential up to 2^10 of them. The device counts every look at a busy channel as an attempt;
        // with a limit of 16 it would give up frames that never met another, so it may look as often as it likes.
        station.device->SetBackoffParams(NanoSeconds(51200), 1, 1024, 10, 1000000);
        station.device->SetReceiveCallback(MakeCallback(&Count));
        station.device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Station::OfferAfter, &station));
        station.device->TraceConnectWithoutContext("PhyTxDrop", MakeCallback(&Station::OfferAfter, &station));
        for (int ahead = 0; ahead < 2; ++ahead)
        {
            Simulator::Schedule(NanoSeconds(i), &Station::Offer, &station);
        }
    }
    Simulator::Stop(Seconds(std::atof(argv[3])));
    Simulator::Run();
    Simulator::Destroy();
    std::cout << "frames " << received << std::endl;
    return 0;
}
