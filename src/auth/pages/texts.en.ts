/** What the pages say, in English: the language that holds where a browser asks for none of ours. */
export const english = {
  'page.skip': 'To the form',
  'page.required': 'required',

  'error.title': 'That did not work',
  'error.back': 'Go back to the application that you came from and begin again there.',
  'error.technical': 'For those who look after the application: {detail}',
  'error.request': 'The log has this request under {id}.',
  'error.badRequest': 'The address or the form that your browser sent is not complete or not right.',
  'error.formExpired':
    'This form is too old, or your browser keeps no cookies for this address. Allow cookies and try again.',
  'error.loginExpired': 'This sign-in took too long or has ended already. Please sign in again from the beginning.',
  'error.tooMany': 'There were too many attempts. Try again in {minutes} minutes.',
  'error.unavailable': 'The service is busy or just starting. Try again in a minute.',
  'error.internal': 'Something went wrong here. Try again; if it happens again, tell those who run this service.',

  'login.title': 'Sign in',
  'login.to': 'to {name}',
  'login.login': 'Login or e-mail address',
  'login.password': 'Password',
  'login.keep': 'Stay signed in on this device for {days} days',
  'login.submit': 'Sign in',
  'login.guest': 'Continue as a guest',
  'login.or': 'or',
  'login.missing': 'Enter your login and your password.',
  'login.wrong': 'The login or the password is wrong, or this account cannot be used now.',
  'login.blocked': 'There were too many wrong passwords. Try again in {minutes} minutes.',
  'login.startOver': 'There were too many wrong answers. Please sign in again.',

  'signOut.title': 'Sign out?',
  'signOut.text': 'You come from another site. Do you want to sign out in this browser?',
  'signOut.submit': 'Sign out',
  'signedOut.title': 'Signed out',
  'signedOut.text': 'You have signed out in this browser. On a computer that others use too, close the browser now.',
} as const

export type TextName = keyof typeof english

/** What the pages say in one language; the same names in all of them. */
export type Texts = Readonly<Record<TextName, string>>
