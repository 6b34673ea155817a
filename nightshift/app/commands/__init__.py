"""The commands of the command line that are the application's own, and the API of a home whose daemon is down."""
