"""What a look at the words of tenants costs: a row for each probe, parser and grouping."""
