import { form, table } from '../fields/forms.ts'
import { address, secret } from '../fields/secrets.ts'
import { bool, int, localized, select, text } from '../fields/values.ts'
import { emailRule, hostAndPortRule, urlRule } from './rules.ts'
import { section } from './section.ts'

const email = (fallback = '') => text(fallback, { type: 'email', maxLength: 320, rule: emailRule })
const httpUrl = (required: boolean) => address({ required, maxLength: 2000, rule: urlRule })

/** Settings for outgoing messages: mail, and calls of other programs. */
export const outgoing = {
  email: section('email', 'system.config', {
    from: email(),
    signature: localized(),
    /** Recipients of alerts for administrators: failed backups, damaged files, full disks, certificates that expire. */
    admin_emails: table({ email: text('', { type: 'email', required: true, maxLength: 320, rule: emailRule }) }),
  }),

  email_server: section(
    'email',
    'system.config',
    {
      /** Host and port, such as `smtp.example.org:587`; empty: no mail is sent. */
      server_addr: text('', { maxLength: 300, rule: hostAndPortRule }),
      helo_domain: text('', { maxLength: 253 }),
      type: select(['off', 'starttls', 'tls'], 'starttls'),
      insecure_skip_verify: bool(false),
      plain_auth: form({ identity: text(), username: text(), password: secret() }),
      login_auth: form({ username: text(), password: secret() }),
      cram_md5_auth: form({ username: text(), password: secret() }),
    },
    ({ plain_auth, login_auth, cram_md5_auth }) => {
      const used = [plain_auth, login_auth, cram_md5_auth].filter((auth) => auth.username !== '')
      return used.length > 1 ? { path: '', expected: 'one way to sign in at the server' } : null
    },
    ({ server_addr, type, insecure_skip_verify }) =>
      server_addr === '' ? [] : [`${server_addr} ${type} ${insecure_skip_verify}`],
  ),

  export_scheduler: section('export', 'system.config', {
    /** Whether exports run by their schedules. A run that was missed while this is off happens once when it is switched on. */
    active: bool(true),
  }),

  notification_scheduler: section('email', 'system.config', {
    /** Whether users get the mails of transitions. Off: no mails are created, and mails that wait for their time go on waiting. */
    active: bool(true),
  }),

  transition_webhook: section('workflow', 'system.config', {
    webhooks: table(
      {
        name: text('', { required: true, maxLength: 200 }),
        url: httpUrl(true),
        method: select(['POST', 'PUT'], 'POST'),
        /** Key of the signatures in `X-Hub-Signature` and `X-Hub-Signature-256`. */
        secret: secret(),
        /** Seconds; 0: the built-in limit of the service. */
        timeout: int(0, { max: 600 }),
        send_authorization_header: bool(false),
        include_access_token: bool(false),
      },
      { key: 'name', sentTo: ({ url }) => [url] },
    ),
  }),
} as const
