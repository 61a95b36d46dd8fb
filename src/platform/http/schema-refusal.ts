import { type AppError, badRequest } from '../errors.ts'

/** A reason why a request does not fit its schema, as the validator reports it. */
export interface SchemaFailure {
  readonly instancePath: string
  readonly keyword?: string
  readonly message?: string
  readonly params?: Record<string, unknown>
}

/**
 * The refusal of a request that does not fit its schema. Where the schema has alternatives each of them fails: the refusal tells of the
 * one that fits furthest. Of a value with a list of choices the validator reports one failure for each choice; the refusal names all of
 * them.
 */
export function schemaRefusal(failures: readonly SchemaFailure[], part: string): AppError {
  const deepest = Math.max(...failures.map(depthOf))
  const there = failures.filter((failure) => depthOf(failure) === deepest)
  const [first] = there
  const place = `${part}${first?.instancePath ?? ''}`
  const choices = choicesOf(there)
  if (choices.length === 0)
    return badRequest(`${place} ${first?.message ?? 'is wrong'}`, { name: place, ...first?.params })
  const message = `${place} must be ${choices.length > 1 ? 'one of ' : ''}${choices.join(', ')}`
  return badRequest(message, { name: place, allowedValues: choices })
}

const depthOf = ({ instancePath }: SchemaFailure): number => instancePath.split('/').length

/**
 * The values that are possible at the place of the first failure, without the empty text of a switch by its bare name; none where
 * something else than such a value is possible too.
 */
function choicesOf(failures: readonly SchemaFailure[]): unknown[] {
  const place = failures[0]?.instancePath
  const there = failures.filter(({ instancePath, keyword }) => instancePath === place && keyword !== 'anyOf')
  if (!there.every(({ keyword }) => keyword === 'const')) return []
  return there.map(({ params }) => params?.allowedValue).filter((value) => value !== '')
}
