"""What stands in the hall: chips, hosts, racks, fabric, cluster, site."""

from racktwin.hardware.assembly import chip, cluster, cpu, rack
from racktwin.hardware.chip import Chip, Cpu
from racktwin.hardware.cluster import Cluster
from racktwin.hardware.fabric import Fabric
from racktwin.hardware.facility import Facility
from racktwin.hardware.figures import Figure, figures
from racktwin.hardware.host import Host
from racktwin.hardware.placement import Place
from racktwin.hardware.power import Part, cluster_parts, rack_parts
from racktwin.hardware.rack import Rack
from racktwin.hardware.site import Site
from racktwin.hardware.stage import Stage
from racktwin.hardware.switch import Switch

__all__ = [
    "Chip",
    "Cluster",
    "Cpu",
    "Fabric",
    "Facility",
    "Figure",
    "Host",
    "Part",
    "Place",
    "Rack",
    "Site",
    "Stage",
    "Switch",
    "chip",
    "cluster",
    "cluster_parts",
    "cpu",
    "figures",
    "rack",
    "rack_parts",
]
