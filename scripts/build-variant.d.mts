export function buildVariant(name: string, options: string[]): string;
