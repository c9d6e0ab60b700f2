export function variantAt(name: string): string;
export function buildVariant(name: string, options: string[]): void;
