/** A value that was found, beside what is wanted. */
export interface Judgement {
  what: string;
  wanted: string;
  /** Undefined where what it takes was not measured. */
  found?: string;
  met?: boolean;
}

type Format = (value: number) => string;

export const times: Format = (value) => `${value.toFixed(2)} x`;
export const ms: Format = (value) => `${value.toFixed(1)} ms`;

export function atLeast(
  what: string,
  value: number | undefined,
  least: number,
  as: Format,
): Judgement {
  const judgement = { what, wanted: `${as(least)} or more` };
  return value === undefined ? judgement : { ...judgement, found: as(value), met: value >= least };
}

export function atMost(
  what: string,
  value: number | undefined,
  most: number,
  as: Format,
): Judgement {
  const judgement = { what, wanted: `${as(most)} or less` };
  return value === undefined ? judgement : { ...judgement, found: as(value), met: value <= most };
}
