import { randomInt } from 'node:crypto'
import type { BaseConfigService } from '../../config/service.ts'
import type { MailService } from '../../mail/service.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { sendsMail } from '../account/mails.ts'
import type { LoginFlows } from '../flows/flows.ts'
import type { Login } from '../flows/login.ts'
import type { PageLanguage } from '../pages/language.ts'
import { tokenHash } from '../sessions/token.ts'

const digits = 6
/** Minutes. */
export const codeMinutes = 10
/** Maximum number of codes for one user within that time: a person with the password must not be able to fill a mailbox. */
const mostCodes = 5
/** Minutes for which codes are kept for counting. */
const keptMinutes = 60

export interface MailCodeDependencies {
  db: Db
  baseConfig: BaseConfigService
  mail: MailService
  seal: Seal
}

export type MailCodes = ReturnType<typeof createMailCodes>

type Of = Login & { readonly userId: number }

/** Codes by mail as a second factor: each is valid for one sign-in, in one browser, once. */
export function createMailCodes({ db, baseConfig, mail, seal }: MailCodeDependencies) {
  const hashOf = (flow: Buffer, typed: string): Promise<Buffer> =>
    seal.hash(`mail code:${flow.toString('hex')}:${typed.replaceAll(/\s/g, '')}`)

  return {
    /** Whether they can be used: they are switched on in the base configuration, and there is a mail server. */
    available: (): boolean => baseConfig.get().two_factor.methods.includes('email') && sendsMail(baseConfig),

    /** Whether a valid code was sent for this sign-in. */
    async isSent({ id }: Login): Promise<boolean> {
      const { rows } = await db.query(
        'select from factor_mail_code where flow_hash = $1 and expires_at > now()',
        [tokenHash(id)],
        'factor_code_sent',
      )
      return rows.length > 0
    },

    /** Sends a code, which replaces the previous one. False: too many were sent lately. */
    async send(flows: LoginFlows, login: Of, email: string, language: PageLanguage): Promise<boolean> {
      const flow = tokenHash(login.id)
      const code = String(randomInt(10 ** digits)).padStart(digits, '0')
      const hash = await hashOf(flow, code)
      return db.transaction(async (tx) => {
        await flows.hold(tx, login)
        // Codes of one user are sent one after the other, so that the limit is exact.
        await tx.query('select from "user" where id = $1 for no key update', [login.userId], 'factor_code_turn')
        const { rows } = await tx.query<{ count: number }>(
          `select count(*)::int as count from factor_mail_code
           where user_id = $1 and sent_at > now() - make_interval(mins => $2)`,
          [login.userId, codeMinutes],
          'factor_codes_sent',
        )
        if ((rows[0]?.count ?? 0) >= mostCodes) return false
        await tx.query(
          'update factor_mail_code set expires_at = now() where flow_hash = $1 and expires_at > now()',
          [flow],
          'factor_code_replace',
        )
        await tx.query(
          `insert into factor_mail_code (flow_hash, user_id, hash, expires_at)
           values ($1, $2, $3, now() + make_interval(mins => $4))`,
          [flow, login.userId, hash, codeMinutes],
          'factor_code_insert',
        )
        await clean(tx)
        const values = { instance: baseConfig.instanceTitle() || 'Strongroom', code, minutes: codeMinutes }
        const parts = (['mail.code.text', 'mail.code.code', 'mail.code.otherwise'] as const).map((name) =>
          language.text(name, values),
        )
        await mail.send(tx, [
          {
            template: 'account_code',
            to: [email],
            subject: language.text('mail.code.subject', values),
            text: parts.join('\n\n'),
            secret: code,
            languages: [language.tag],
            cause: { User: login.login ?? email, UserID: login.userId },
          },
        ])
        return true
      })
    },

    /** Uses up a code. False: it is not the code of this sign-in. */
    async use(tx: Tx, login: Of, typed: string): Promise<boolean> {
      const flow = tokenHash(login.id)
      const { rowCount } = await tx.query(
        `update factor_mail_code set expires_at = now()
         where flow_hash = $1 and user_id = $2 and hash = $3 and expires_at > now()`,
        [flow, login.userId, await hashOf(flow, typed)],
        'factor_code_use',
      )
      return rowCount === 1
    },
  }
}

async function clean(tx: Queryable): Promise<void> {
  await tx.query(
    `delete from factor_mail_code where id in
       (select id from factor_mail_code where sent_at < now() - make_interval(mins => $1) limit 10
        for update skip locked)`,
    [keptMinutes],
    'factor_code_clean',
  )
}

/** The address in a form for a person who may not be its owner: `a…@example.org`. */
export function hinted(email: string): string {
  const at = email.lastIndexOf('@')
  return `${[...email][0] ?? ''}…${email.slice(at)}`
}
