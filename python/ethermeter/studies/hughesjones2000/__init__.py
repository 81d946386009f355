"""Hughes-Jones and Saka, raw frames through Ethernet components, ATL-COM-DAQ-2000-014, 2000."""
