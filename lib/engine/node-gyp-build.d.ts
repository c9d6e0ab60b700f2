declare module 'node-gyp-build' {
  /** Loads the addon of the package whose root is `dir`. */
  function load(dir: string): unknown;
  export default load;
}
