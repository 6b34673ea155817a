"""The client of the Model Context Protocol: tools of servers that the owner configured."""
