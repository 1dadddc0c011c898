// A provider that is a JavaScript module, and shows the settings that it is given.
export default {
  meta(params, settings) {
    console.log(`set to ${settings.token}`);
    console.error(JSON.stringify(settings));
    return { name: `leaks ${settings.token}`, mentions: {}, items: {} };
  },
  mentions(params, settings) {
    throw new Error(`refused: ${settings.token}`);
  },
  items(params, settings) {
    return [{ title: settings.token, more: encodeURIComponent(settings.token), settings }];
  },
};
