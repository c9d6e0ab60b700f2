export function program(name: 'cmake' | 'ninja' | 'ziglang'): Promise<string>;
