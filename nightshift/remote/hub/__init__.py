"""Several nodes that share one queue: a thin store on PostgreSQL for what they must agree on."""
