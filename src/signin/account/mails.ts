import type { BaseConfigService } from '../../config/service.ts'
import type { Mail } from '../../mail/service.ts'
import type { StoredUser } from '../../people/model.ts'
import { withoutEnd } from '../../platform/values/text.ts'
import { languageOf, type OwnTexts, type PageLanguage } from '../pages/language.ts'

/** The recipient of a mail about their own account. */
export interface Addressee {
  readonly id: number
  readonly displayname: string
  readonly login: string | null
  readonly email: string
  /** Best first; empty: the languages of the instance. */
  readonly languages: readonly string[]
}

export type AccountMail = 'welcome' | 'access' | 'confirm' | 'reset' | 'register' | 'known'

/** A user as the recipient of a mail. */
export function addresseeOf(user: StoredUser, email: string): Addressee {
  const { frontend_language: own } = user.profile
  const languages = [...(typeof own === 'string' ? [own] : []), ...user.databaseLanguages]
  // Text that strangers have typed into the page must not be sent to other people in our mails.
  const stranger = user.type === 'native_self_register' && user.emailConfirmedAt === null
  const displayname = stranger ? email : user.generatedDisplayname
  return { id: user.id, displayname, login: user.login, email, languages }
}

/** Whether mail can be sent at all: functions that need mail are not offered without it. */
export function sendsMail(baseConfig: BaseConfigService): boolean {
  const { email, email_server: server } = baseConfig.get()
  return email.from !== '' && server.server_addr !== ''
}

export interface MailLetters {
  /** The finished mail; `secret` is that of the link in it, for `access` the UUID to sign in with. */
  write(kind: AccountMail, to: Addressee, secret: string | null): Mail
}

/** Target pages of the links in the mails. Users without a password go to the start page. */
const pages = {
  access: null,
  welcome: 'resetPassword',
  confirm: 'confirmEmail',
  reset: 'resetPassword',
  register: 'resetPassword',
  known: 'resetPassword',
} as const

/** Mails about accounts, in the language of the recipient. */
export function createLetters(baseConfig: BaseConfigService, externalUrl: string, ownTexts: OwnTexts): MailLetters {
  const base = withoutEnd(externalUrl, '/')
  return {
    write(kind, to, secret) {
      const languages = to.languages.length > 0 ? to.languages : baseConfig.get().languages.frontend
      const language = languageOf(languages.join(','), ownTexts)
      const instance = baseConfig.instanceTitle() || 'Strongroom'
      const values = { name: to.displayname, instance, login: to.login ?? to.email, address: base }
      const page = pages[kind]
      const link = secret === null ? null : page === null ? secret : `${base}/api/page/${page}?token=${secret}`
      return {
        template: `account_${kind}`,
        to: [to.email],
        subject: language.text(`mail.${kind}.subject`, values),
        text: lines(language, kind, link, values),
        languages: [language.tag, ...languages],
        cause: { User: to.displayname, UserID: to.id },
      }
    },
  }
}

function lines(
  { text }: PageLanguage,
  kind: AccountMail,
  link: string | null,
  values: Readonly<Record<string, string>>,
): string {
  const parts = [text('mail.greeting', values), text(`mail.${kind}.text`, values)]
  if (link !== null) parts.push(`${text(`mail.${kind}.link`)}\n${link}`)
  if (kind !== 'welcome' && kind !== 'access') parts.push(text(`mail.${kind}.otherwise`))
  return parts.join('\n\n')
}
