"""The database: connections, the one writer, migrations, and the stores on top of them."""
