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

/** Options of the schema of something that is known and refused, since what it is for does not exist (decision 26). */
export function refused(reason: string): { readonly description: string; readonly 'x-refused': string } {
  return { description: `Refused: ${reason}.`, 'x-refused': `${reason}.` }
}
