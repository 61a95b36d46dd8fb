/** Whether a value is an object of JSON: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The record without some of its members; the others keep their order. */
export function omit<T extends object, K extends keyof T>(record: T, names: readonly K[]): Omit<T, K> {
  const left = new Set<PropertyKey>(names)
  return Object.fromEntries(Object.entries(record).filter(([name]) => !left.has(name))) as Omit<T, K>
}
