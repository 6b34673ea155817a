// Gives the tests of a file of jest the helper before they run, and leaves all else to jest's own runner.

const { createRequire } = require("node:module");
const { join } = require("node:path");

module.exports = async (globalConfig, config, environment, runtime, ...more) => {
  const { give, shut } = await import("./worker.mjs"); // was loaded when the process began
  give(environment.global);
  const { requireModule, unstable_importModule: importModule } = runtime;
  runtime.requireModule = (from, name, options, ...others) => {
    if (!options?.isInternalModule) {
      runtime.requireModule = requireModule;
      shut();
    }
    return requireModule.call(runtime, from, name, options, ...others);
  };
  runtime.unstable_importModule = (...args) => {
    shut();
    return importModule.apply(runtime, args);
  };
  const load = createRequire(join(config.rootDir, "package.json"));
  const inner = load(createRequire(load.resolve("jest")).resolve("jest-circus/runner"));
  return (inner.default ?? inner)(globalConfig, config, environment, runtime, ...more);
};
