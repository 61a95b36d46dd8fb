/**
 * The schema with bounds on every integer that has none: beyond them a JSON number is not exact, and would reach the database as
 * another number, or as none.
 */
export function withSafeIntegers<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(withSafeIntegers) as T
  if (schema === null || typeof schema !== 'object') return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withSafeIntegers(value)]))
  return (inner.type === 'integer' ? { ...bounds, ...inner } : inner) as T
}

const bounds = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
