"""The client of the Model Context Protocol, for tools of servers that the owner configured."""
