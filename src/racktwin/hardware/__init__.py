"""What stands in the hall: chips, hosts, racks, clusters."""
