"""What stands in the hall: chips, hosts, racks, fabric, cluster, site."""

from racktwin.hardware.assembly import chip, cluster, cpu, rack
from racktwin.hardware.chip import Chip, Cpu
from racktwin.hardware.cluster import Cluster
from racktwin.hardware.fabric import Fabric
from racktwin.hardware.host import Host
from racktwin.hardware.placement import Place
from racktwin.hardware.rack import Rack
from racktwin.hardware.site import Site
from racktwin.hardware.switch import Switch

__all__ = [
    "Chip",
    "Cluster",
    "Cpu",
    "Fabric",
    "Host",
    "Place",
    "Rack",
    "Site",
    "Switch",
    "chip",
    "cluster",
    "cpu",
    "rack",
]
