"""A fleet of a thousand runs whose racks, nodes, registries and name servers fail, under a real musterd."""
