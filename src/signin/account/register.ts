import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { BaseConfig, BaseConfigService } from '../../config/service.ts'
import type { Jobs } from '../../jobs/service.ts'
import type { Form } from '../../platform/http/form.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { html, joined, nothing } from '../../platform/values/html.ts'
import { isMailbox } from '../../platform/values/mailbox.ts'
import { button, checkbox, field } from '../pages/fields.ts'
import type { PageDefinition } from '../pages/routes.ts'
import type { TextName, Visit } from '../pages/service.ts'
import type { Throttle } from '../throttle.ts'
import { sendsMail } from './mails.ts'
import { type Registration, registerJob } from './registration.ts'

const name = 'register'
const longest = 200

type FieldName = BaseConfig['registration']['fields'][number]['name']

/** The values that browsers fill in (HTML, autofill). */
const autofill: Readonly<Record<FieldName, string>> = {
  first_name: 'given-name',
  last_name: 'family-name',
  displayname: 'nickname',
  company: 'organization',
  department: 'off',
  phone: 'tel',
  address_supplement: 'address-line2',
  street: 'address-line1',
  house_number: 'off',
  postal_code: 'postal-code',
  town: 'address-level2',
  state: 'address-level1',
  country: 'country-name',
}

export interface RegisterDependencies {
  db: Db
  jobs: Pick<Jobs, 'enqueue'>
  throttle: Throttle
  baseConfig: BaseConfigService
  clock: () => Date
}

/** Whether people may create accounts for themselves: the mail address proves that they are people. */
export function mayRegister(baseConfig: BaseConfigService): boolean {
  return baseConfig.get().registration.active && sendsMail(baseConfig)
}

/**
 * People create accounts for themselves, with their mail address as login. The password is set behind the link in the mail: if it
 * were set before, another person could know the password of an account that the owner of the address confirms. The answer is the
 * same, and takes as long, whether the address has an account or not: the account is created by a job, and the owner of an existing
 * account is informed by mail.
 */
export function registerPage(deps: RegisterDependencies): PageDefinition {
  const { db, jobs, throttle, baseConfig, clock } = deps

  function page(visit: Visit, form: Form | null, problem: string | null): FastifyReply {
    const { text, localized } = visit
    const { info, terms, fields } = baseConfig.get().registration
    const [told, agreed] = [localized(info), localized(terms)]
    const email = field({
      name: 'email',
      type: 'email',
      label: text('register.email'),
      value: form?.get('email') ?? '',
      autocomplete: 'email',
      maxLength: 320,
      autofocus: true,
    })
    const asked = fields.map((one) =>
      field({
        name: one.name,
        label: labelOf(visit, one),
        value: form?.get(one.name) ?? '',
        autocomplete: autofill[one.name],
        required: one.required,
        maxLength: longest,
        ...(one.name === 'phone' ? { type: 'tel' } : {}),
      }),
    )
    const consent = agreed
      ? html`<p class="terms">${agreed}</p>${checkbox('terms', text('register.agree'), { required: true })}`
      : nothing
    const content = joined([
      told ? html`<p>${told}</p>` : nothing,
      visit.form(`/api/page/${name}`, joined([email, ...asked, consent, button(text('register.submit'))]), {
        terms_version: termsVersion(visit) ?? undefined,
      }),
    ])
    return visit.send({ title: text('register.title'), content, problem })
  }

  function labelOf({ text }: Visit, { name: of, required }: { name: FieldName; required: boolean }): string {
    const label = text(`field.${of}` satisfies TextName)
    return required ? label : text('register.optional', { label })
  }

  function problemOf(visit: Visit, form: Form): string | null {
    const { text } = visit
    const { fields } = baseConfig.get().registration
    const email = form.get('email')?.trim() ?? ''
    if (!isMailbox(email)) return text('register.badEmail')
    for (const one of fields) {
      const value = form.get(one.name)?.trim() ?? ''
      const label = text(`field.${one.name}` satisfies TextName)
      if (one.required && value === '') return text('register.missing', { label })
      if (value.length > longest) return text('register.tooLong', { label })
    }
    const version = termsVersion(visit)
    if (version === null) return null
    // Terms that have changed since must be agreed to again.
    const agreed = form.get('terms') === '1' && form.get('terms_version') === version
    return agreed ? null : text('register.mustAgree')
  }

  /**
   * The version of the terms on the page: the administrator's name for it, else derived from the text; null: there are no terms.
   */
  function termsVersion({ localized }: Pick<Visit, 'localized'>): string | null {
    const { terms, terms_version: version } = baseConfig.get().registration
    const shown = localized(terms)
    return shown ? version || `sha256:${hash('sha256', shown, 'hex').slice(0, 16)}` : null
  }

  function closed(visit: Visit): FastifyReply {
    const { text } = visit
    return visit.send({ title: text('register.title'), content: html`<p>${text('register.closed')}</p>` })
  }

  return {
    name,
    writes: true,
    show: async (visit) => (mayRegister(baseConfig) ? page(visit, null, null) : closed(visit)),
    async submit(visit, form) {
      const { text, language, request } = visit
      if (!mayRegister(baseConfig)) return closed(visit)
      const problem = problemOf(visit, form)
      if (problem !== null) return page(visit, form, problem)
      // Every request counts: its result is not known here.
      await throttle.failed(db, await throttle.openForNetwork(db, name, request.ip))
      const { fields, groups } = baseConfig.get().registration
      const version = termsVersion(visit)
      const registration: Registration = {
        email: form.get('email')?.trim() ?? '',
        profile: Object.fromEntries(fields.map((one) => [one.name, form.get(one.name)?.trim() ?? ''])),
        groupIds: groups.map(({ group_id: id }) => id),
        language: language.tag,
        terms: version === null ? null : { version, acceptedAt: clock().toISOString() },
      }
      await db.transaction((tx) => jobs.enqueue(tx, registerJob, registration, { maxAttempts: 5 }))
      const content = html`<p>${text('register.sent')}</p><p class="muted">${text('forgotPassword.wait')}</p>`
      return visit.send({ title: text('register.sentTitle'), content })
    },
  }
}
