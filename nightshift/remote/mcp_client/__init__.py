"""The client of the Model Context Protocol, for tools of the servers that the owner configured."""
