import type { FastifyRequest } from 'fastify'
import type { Actor } from '../actor.ts'
import { AppError } from '../errors.ts'
import { declarationOf } from './http.ts'
import type { Authenticator } from './surface.ts'
import { requireRight } from './system-right.ts'

/** A hook before the body: identifies the caller, and checks it against the declaration of the route. */
export function accessHook(readOnly: (route: { readonly endsReadOnly?: boolean | undefined }) => boolean) {
  return async (request: FastifyRequest): Promise<void> => {
    const { access, writes, endsReadOnly, systemRight, surface } = declarationOf(request)
    if (access === undefined || access === 'public') {
      if (writes && readOnly({ endsReadOnly })) throw new AppError('ReadOnlyMode')
      return
    }
    try {
      request.actor = await callerOf(request, surface?.authenticators ?? [])
    } catch (error) {
      if (access !== 'optional' || !(error instanceof AppError) || error.code !== 'InvalidToken') throw error
    }
    if (!request.actor && access === 'session') throw new AppError('InvalidToken')
    if (!request.actor && access === 'user') throw new AppError('UserRequired')
    if (writes && readOnly({ endsReadOnly })) throw new AppError('ReadOnlyMode')
    if (systemRight) requireRight(request.actor, systemRight)
  }
}

/** The caller by the first authentication method that the request uses: credentials for other methods are ignored. */
async function callerOf(request: FastifyRequest, authenticators: readonly Authenticator[]): Promise<Actor | null> {
  for (const authenticate of authenticators) {
    const actor = await authenticate(request)
    if (actor) return actor
  }
  return null
}
