import type { FastifyReply } from 'fastify'
import type { Form } from '../../platform/http/form.ts'
import type { PageDefinition } from '../pages/routes.ts'
import type { Visit } from '../pages/service.ts'
import type { LoginFlows } from './flows.ts'
import type { Login } from './login.ts'

/** A page between password and code, with its sign-in. */
export interface LoginPageDefinition {
  readonly name: string
  /** Its step: the page is only available after all earlier steps are passed. */
  readonly step: string
  readonly query?: readonly string[]
  show(visit: Visit, login: Login, query: Form): Promise<FastifyReply>
  submit?(visit: Visit, login: Login, form: Form): Promise<FastifyReply>
}

/** Address and form of the page identify the sign-in: `?flow=`, a hidden field `flow`. */
export function loginPage(flows: LoginFlows, definition: LoginPageDefinition): PageDefinition {
  const { name, step, query = [], show, submit } = definition
  return {
    name,
    query: ['flow', ...query],
    show: async (visit, parameters) => show(visit, await flows.find(visit, parameters.get('flow'), step), parameters),
    ...(submit
      ? { submit: async (visit, form) => submit(visit, await flows.find(visit, form.get('flow'), step), form) }
      : {}),
  }
}
