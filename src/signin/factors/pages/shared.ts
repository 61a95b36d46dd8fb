import type { FastifyReply } from 'fastify'
import { AppError } from '../../../platform/errors.ts'
import { type Html, html } from '../../../platform/values/html.ts'
import type { LoginFlows } from '../../flows/flows.ts'
import type { Login } from '../../flows/login.ts'
import { isManaged } from '../../flows/management.ts'
import type { TextName, Visit } from '../../pages/service.ts'
import type { FactorMethod } from '../methods.ts'
import { notesOf } from '../notes.ts'
import type { Factors, ProvedLogin, Standing } from '../service.ts'

export interface FactorPages {
  readonly factors: Factors
  readonly flows: LoginFlows
}

/** Labels of the links to the pages of the methods. */
export const methodLabels = {
  passkey: 'factor.usePasskey',
  totp: 'factor.useTotp',
  email: 'factor.useEmail',
  recovery: 'factor.useRecovery',
} as const satisfies Record<FactorMethod, TextName>

/** @throws {AppError} `PageExpired` for a sign-in whose user is not known yet. */
export function provedLogin(login: Login): ProvedLogin {
  const { userId } = login
  if (userId === null) throw new AppError('PageExpired', { what: 'login' })
  return { ...login, userId }
}

/**
 * Whether a sign-in may set up a second factor: the first one, or another one after one was proved in it. A user without a required
 * factor may, if the sign-in was begun for that.
 */
export function mayEnrol(login: ProvedLogin, { login: name, asked, usable }: Standing): boolean {
  if (asked) return usable.length === 0 || notesOf(login).proved !== null
  return name !== null && isManaged(login)
}

export function toPage(
  { flows }: Pick<FactorPages, 'flows'>,
  { reply }: Visit,
  name: string,
  login: Login,
): FastifyReply {
  return reply.header('Cache-Control', 'no-store').redirect(flows.address(login, name), 303)
}

/** A link to another page of the same sign-in, below the main content. */
export function otherWay({ flows }: FactorPages, login: Login, page: string, label: string, more = {}): Html {
  return html`<p class="or"><a href="${flows.address(login, page, more)}">${label}</a></p>`
}
