// Calls functions of the library in a process of Windows, one after the other: copy.cjs DIST CALLS, which are
// JSON, each a function's name and its arguments. Prints what came of each as JSON.
const [dist, calls] = process.argv.slice(2);
const { copyTree, compareTrees } = require(`${dist}/index.cjs`);
const { promises, cpSync } = require(`${dist}/fs.cjs`);

const functions = { copyTree, compareTrees, cp: promises.cp, cpSync };

async function outcomeOf([name, ...args]) {
  try {
    return { result: await functions[name](...args) };
  } catch ({ code, errno, message }) {
    return { error: { code, errno, message } };
  }
}

void (async () => {
  const outcomes = [];
  for (const call of JSON.parse(calls)) outcomes.push(await outcomeOf(call));
  console.log(JSON.stringify(outcomes));
})();
