// Hands jest the reporter of `jest.mjs`, which it asks for by a file.

module.exports = globalThis[Symbol.for("nightshift")];
