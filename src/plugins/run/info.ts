import type { Actor } from '../../platform/actor.ts'

/** The user for whom a call runs. */
export function whoOf({ userId, login, displayname, reference }: Actor): Record<string, unknown> {
  return {
    _basetype: 'user',
    user: {
      _id: userId,
      login,
      _generated_displayname: displayname,
      ...(reference === null ? {} : { reference, 'lookup:_id': { reference } }),
    },
  }
}
