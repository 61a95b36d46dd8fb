import type { Actor } from '../../platform/actor.ts'

/** The user that a call runs as. */
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
