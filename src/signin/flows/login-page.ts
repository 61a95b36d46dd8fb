import type { FastifyReply } from 'fastify'
import type { Form } from '../../platform/http/form.ts'
import type { PageDefinition } from '../pages/routes.ts'
import type { Visit } from '../pages/service.ts'
import type { LoginFlows } from './flows.ts'
import type { Login } from './login.ts'

/** A page between password and code: it gets the sign-in that it belongs to. */
export interface LoginPageDefinition {
  readonly name: string
  /** The step that it belongs to: it is not there before all earlier ones are passed. */
  readonly step: string
  readonly query?: readonly string[]
  show(visit: Visit, login: Login, query: Form): Promise<FastifyReply>
  submit?(visit: Visit, login: Login, form: Form): Promise<FastifyReply>
}

/** Its address and its form name the sign-in: `?flow=`, a hidden field `flow`. */
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
