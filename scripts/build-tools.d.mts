export function addMissingCompiler(): Promise<boolean>;
