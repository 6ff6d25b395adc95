"""What a table holds: the schema, found in one pass, shown, stored with a model, and held to later tables."""
