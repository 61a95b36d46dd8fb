import { type Static, Type } from 'typebox'

/**
 * A switch in a query string, which the interface sends as text (`string:boolean`): `1`, `true` and the bare name
 * (`?dry_run`) are on, `0` and `false` are off; anything else is refused.
 */
export const Flag = Type.Union([
  Type.Literal('1'),
  Type.Literal('true'),
  Type.Literal(''),
  Type.Literal('0'),
  Type.Literal('false'),
])
export type Flag = Static<typeof Flag>

/** A switch as a parameter; the description of the interface shows it as a boolean. */
export function flag(description: string) {
  return Type.Optional(Type.Unsafe<Flag>({ ...Flag, description, 'x-shown-as': { type: 'boolean' } }))
}

export function isOn(flag: Flag | undefined): boolean {
  return flag === '1' || flag === 'true' || flag === ''
}

/** Schema options of a member whose stored value is shown and may be sent back; a change of it is refused. */
export function refusedChange(reason: string): { readonly description: string; readonly 'x-refused-change': string } {
  return {
    description: `A change is refused: ${reason}. The stored value may be sent back.`,
    'x-refused-change': `${reason}.`,
  }
}

/**
 * Schema options of a parameter that answers a question (202) that the service does not ask yet. Clients may send it already, so it
 * is accepted, and the answer lists it in `X-Svc-Ignored`; `strict` refuses it.
 */
export function unasked(reason: string): { readonly description: string; readonly 'x-without-effect': string } {
  return {
    description: `Without effect: ${reason}. Named in X-Svc-Ignored.`,
    'x-without-effect': `${reason}.`,
  }
}

const noShares = 'nothing that is saved here makes a grant of a collection say more than its owner may pass on'

/** Amounts with a unit that are added up, as in 1h30m or 2.5s. */
const durationPattern = '^(\\d+(\\.\\d+)?(ns|us|µs|ms|s|m|h))+$'

/** The handling of files when something with grants, watermarks or captions is saved; parameters about collections are refused. */
export const dependentsQuery = {
  confirm: Type.Optional(
    Type.Enum(['resync', 'skip'], {
      description:
        'Where watermark or captions change and there are files that may bear them (202 asks): `resync` makes their ' +
        'renditions anew, `skip` leaves that to a later resync.',
    }),
  ),
  allow_invalid_acl: Type.Optional(
    Type.Boolean({
      description:
        'Save although grants of collections say more than their owners may pass on then: they give nothing there. Needs ' +
        '`bag_acl` on all collections that this is about; without it a 202 asks.',
    }),
  ),
  background_invalid_acl: Type.Optional(
    Type.Boolean({
      description: 'Ask nothing: a job looks for such grants later, and says of their collections `_invalid_acl`.',
    }),
  ),
  background_invalid_acl_timelimit: Type.Optional(
    Type.String({
      pattern: durationPattern,
      maxLength: 100,
      description: 'How long such a job works at a time, as in `1h30m` or `2.5s`; it goes on later.',
    }),
  ),
}

/** The parameters about collections, for routes that cannot affect collections. */
export const withoutSharesQuery = {
  allow_invalid_acl: Type.Optional(Type.Boolean(refused(noShares))),
  background_invalid_acl: Type.Optional(Type.Boolean(refused(noShares))),
  background_invalid_acl_timelimit: Type.Optional(
    Type.String({ pattern: durationPattern, maxLength: 100, ...refused(noShares) }),
  ),
}

const unitMilliseconds: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** The milliseconds of such a duration. */
export function durationOf(text: string): number {
  const parts = text.match(/[\d.]+|[a-zµ]+/g) ?? []
  let sum = 0
  for (let at = 0; at + 1 < parts.length; at += 2)
    sum += Number(parts[at]) * (unitMilliseconds[parts[at + 1] as string] ?? 0)
  return sum
}

/** The parameters for changes of collections; `skip_index` is for their lists. */
export const collectionQuery = {
  allow_invalid_acl: flag(
    'Save grants of collections that say more than their owners may pass on: they give nothing there. Needs `bag_acl` on ' +
      'all collections that this is about; without it a 202 asks.',
  ),
  background_invalid_acl: flag(
    'Ask nothing: a job looks for such grants later, and says of their collections `_invalid_acl`.',
  ),
}
export const collectionListQuery = {
  ...collectionQuery,
  skip_index: flagWithout('no document of the index has to be written anew for it'),
}

/** A flag without effect. */
function flagWithout(reason: string) {
  return Type.Optional(Type.Unsafe<Flag>({ ...Flag, ...unasked(reason), 'x-shown-as': { type: 'boolean' } }))
}

/**
 * Schema options of a member that is stored and answered as it was sent, and that the service itself does not use: `reader` names
 * its user.
 */
export function kept(reader: string): { readonly description: string; readonly 'x-kept': string } {
  return { description: `Kept for ${reader}.`, 'x-kept': `${reader}.` }
}

/** Schema options of a part that is known and refused, since the feature does not exist (decision 26). */
export function refused(reason: string): { readonly description: string; readonly 'x-refused': string } {
  return { description: `Refused: ${reason}.`, 'x-refused': `${reason}.` }
}

/** The parameters of a request about grants that share more than their owners may pass on. */
export function sharesIn(query: {
  readonly allow_invalid_acl?: boolean
  readonly background_invalid_acl?: boolean
  readonly background_invalid_acl_timelimit?: string
}): { readonly allow: boolean; readonly background: boolean; readonly timeLimit: number | undefined } {
  const limit = query.background_invalid_acl_timelimit
  return {
    allow: query.allow_invalid_acl === true,
    background: query.background_invalid_acl === true,
    timeLimit: limit === undefined ? undefined : durationOf(limit),
  }
}
