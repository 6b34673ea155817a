"""The application's own commands of the command line, and the API of a home whose daemon is down."""
