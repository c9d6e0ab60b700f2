export const cacheDirectory: string;
