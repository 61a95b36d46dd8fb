import type { PageDefinition } from '../pages/routes.ts'
import type { LoginFlows } from './flows.ts'
import type { LoginStep } from './step.ts'

/** A capability's part of the sign-in: its step, and the pages of it. */
export interface LoginPart {
  readonly step: LoginStep
  pages(flows: LoginFlows): readonly PageDefinition[]
}
