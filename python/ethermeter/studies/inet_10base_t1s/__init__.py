"""INET's showcase of 10BASE-T1S (2026, a draft): multidrop Ethernet with PLCA."""
