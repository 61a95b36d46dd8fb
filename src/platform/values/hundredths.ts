/** 1234 becomes `12.34`; computed with digits, so that integers near 2^53 stay exact. */
export function hundredths(value: number): string {
  const digits = String(Math.abs(value)).padStart(3, '0')
  return `${value < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
