import type { FastifyReply } from 'fastify'
import { AppError } from '../../../platform/errors.ts'
import type { LoginFlows } from '../../oauth/login/flows.ts'
import type { Login } from '../../oauth/login/login.ts'
import type { Visit } from '../../pages/service.ts'
import type { Factors, ProvedLogin } from '../service.ts'

export interface FactorPages {
  readonly factors: Factors
  readonly flows: LoginFlows
}

/** @throws {AppError} `PageExpired` for a sign-in of which nobody knows yet whose it is. */
export function provedLogin(login: Login): ProvedLogin {
  const { userId } = login
  if (userId === null) throw new AppError('PageExpired', { what: 'login' })
  return { ...login, userId }
}

export function toPage(
  { flows }: Pick<FactorPages, 'flows'>,
  { reply }: Visit,
  name: string,
  login: Login,
): FastifyReply {
  return reply.header('Cache-Control', 'no-store').redirect(flows.address(login, name), 303)
}
