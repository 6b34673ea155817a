"""Several nodes that share one queue, with a thin store on PostgreSQL for the state that they must agree on."""
